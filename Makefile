# Two commands:  make run    builds a release and starts the server with its data in ./data
#                make test   builds and runs every test; the last line is 'N passed, N failed'
.PHONY: run test release
DATA ?= ./data

run: release
	exec build/release/src/app/skylark server --data $(DATA)

test:
	tools/install build test
	tests/run

release:
	tools/install build
	cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKYLARK_TESTS=OFF
	cmake --build build/release
