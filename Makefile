# Two commands:  make run    builds a release and starts the server with its data in ./data
#                make test   builds and runs every test; the last line is 'N passed, N failed'
#                make night  the random ones for hours: power cuts, kills, simulated clusters, broken input, clients of all kinds
.PHONY: run test night release
DATA ?= ./data

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
