"""Whether what packaging/portable collects can be linked into a shared library and run, without the system's copies.

Call: run_tests.py test_portable.py CMAKE FOLDER. It collects into FOLDER, and needs the Debian packages that the engine is built
from.
"""

import pathlib
import sys
import subprocess
import tempfile
import unittest

CMAKE, COLLECTED = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
PORTABLE = pathlib.Path(__file__).parents[2] / "packaging" / "portable"
# The project looks for the same packages as core and app/engine do. Its library takes all of libcrypto, so that each
# object of the archive has to be position-independent.
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(portable CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_library(isal isal REQUIRED)
find_library(jemalloc jemalloc REQUIRED)
find_path(isal_include isa-l/crc.h REQUIRED)
add_library(half SHARED half.cpp)
target_include_directories(half SYSTEM PRIVATE ${isal_include})
target_link_options(half PRIVATE -Wl,--no-undefined)
target_link_libraries(half PRIVATE ZLIB::ZLIB "$<LINK_LIBRARY:WHOLE_ARCHIVE,OpenSSL::Crypto>" ${isal}
                      nlohmann_json::nlohmann_json CLI11::CLI11)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE half ${jemalloc})
foreach(found ${ZLIB_LIBRARIES} ${ZLIB_INCLUDE_DIRS} ${OPENSSL_CRYPTO_LIBRARY} ${OPENSSL_INCLUDE_DIR} ${isal} ${jemalloc}
        ${isal_include} ${nlohmann_json_DIR} ${CLI11_DIR})
  message(STATUS "found ${found}")
endforeach()
"""
HALF = """\
#include <isa-l/crc.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

bool sumsAreRight() {
  const unsigned char text[] = "123456789";
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text, 9, hash, &size, EVP_sha256(), nullptr);
  const tl::expected<nlohmann::json, int> known = nlohmann::json(0xcbf43926u);
  return crc32(0, text, 9) == *known && crc32_gzip_refl(0, text, 9) == *known && size == 32 && hash[0] == 0x15;
}
"""
MAIN = """\
#include <cstdlib>

bool sumsAreRight();
int main() {
  void* volatile memory = std::malloc(100);
  std::free(memory);
  return sumsAreRight() ? 0 : 1;
}
"""
# CMake looks nowhere but in the folder, and for compilers where PATH says.
NOWHERE_ELSE = (
    "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
    "-DCMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH=OFF",
    "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON",
)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Portable(unittest.TestCase):
    def test_a_shared_library_of_what_was_collected_links_and_runs(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            run(PORTABLE, COLLECTED)
            for file, text in {"CMakeLists.txt": PROJECT, "half.cpp": HALF, "main.cpp": MAIN}.items():
                (folder / file).write_text(text)
            told = run(CMAKE, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={COLLECTED}", *NOWHERE_ELSE)
            found = [line.split()[-1] for line in told.splitlines() if line.startswith("-- found ")]
            self.assertGreaterEqual(len(found), 9, told)
            self.assertEqual([path for path in found if not path.startswith(f"{COLLECTED}/")], [])
            run(CMAKE, "--build", folder / "build")
            run(folder / "build" / "program")
            loaded = run("ldd", folder / "build" / "program")
            for library in ("libz.so.1", "libisal.so.2", "libjemalloc.so.2"):
                self.assertIn(f"{library} => {COLLECTED}/lib/{library} ", loaded)
