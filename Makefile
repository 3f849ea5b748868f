# Two commands:  make run    builds a release and starts the server with its data in ./data
#                make test   builds and runs every test; the last line is 'N passed, N failed'
#                make install / make deb    the program and what belongs to it below PREFIX; a Debian package
#                make night  the random ones for hours: power cuts, kills, simulated clusters, broken input, clients of all kinds
.PHONY: run test night release install deb
DATA ?= ./data
PREFIX ?= /usr/local

run: release
	exec build/release/src/app/skylark server --data $(DATA)

test:
	tools/install build test
	tests/run

night:
	tools/install build test
	CUTS=200000 SEEDS=50000 CRASHES=2000 FUZZ_SECONDS=600 MIXED=3600 tests/run crash sim fuzz interop

release:
	tools/install build
	cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKYLARK_TESTS=OFF -DSKYLARK_LTO=ON
	cmake --build build/release

# The program, man pages, units of systemd, and a configuration file unless there is one.
install: release
	cmake --install build/release --prefix $(PREFIX)

# build/skylark_*.deb, to be installed with apt-get install ./build/skylark_*.deb
deb:
	tools/install build package
	cmake -S . -B build/deb -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKYLARK_TESTS=OFF
	cmake --build build/deb --target package
	mv build/deb/skylark_*.deb build/
