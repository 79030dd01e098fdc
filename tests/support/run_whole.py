#!/usr/bin/env python3
"""Every test of a build, each program once with all of its cases, and what a sanitizer says of it.

    tests/support/run_whole.py BUILD [--jobs N] [--only TEXT] [--logs FOLDER]

CTest starts a program anew for each of its cases, which under a sanitizer costs more than the cases do. A test fails by
its exit status or by a report: UBSan's do not end a program.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPORT = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ).*$", re.MULTILINE)


def properties(test):
    return {item["name"]: item["value"] for item in test.get("properties", [])}


def whole_programs(build):
    """(name, command, environment) of each: the cases of a GoogleTest or Qt Test program are one."""
    text = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for test in json.loads(text)["tests"]:
        command = test.get("command")
        if not command:
            sys.exit(f"{test['name']} is not built")
        name, _, case = test["name"].partition(": ")
        if case:
            command = command[:1]
        environment = dict(item.split("=", 1) for item in properties(test).get("ENVIRONMENT", []))
        found.setdefault(name, (name, command, environment, "FIXTURES_SETUP" in properties(test)))
    return sorted(found.values(), key=lambda each: not each[3])


def run(test, logs):
    name, command, environment, _ = test
    path = logs / (re.sub(r"\W+", "_", name) + ".log")
    start = time.monotonic()
    with open(path, "wb") as log:
        status = subprocess.run(
            command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False
        ).returncode
    reports = sorted(set(REPORT.findall(path.read_text(encoding="utf-8", errors="replace"))))
    good = status == 0 and not reports
    print(f"{'ok    ' if good else 'FAILED'} {time.monotonic() - start:6.1f} s  {name}" + ("" if good else f"  {path}"))
    for report in reports[:8]:
        print("       " + report[:300])
    sys.stdout.flush()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="names that hold this text")
    parser.add_argument("--logs", type=pathlib.Path, default=None)
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("QTEST_FUNCTION_TIMEOUT", "1800000")  # ms; Qt Test's own five minutes are for one case
    os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1:handle_sigbus=0")
    suppressions = pathlib.Path(__file__).with_name("lsan.supp")
    os.environ.setdefault("LSAN_OPTIONS", f"suppressions={suppressions}:print_suppressions=0")
    logs = options.logs or pathlib.Path(tempfile.mkdtemp(prefix="normlens-tests-"))
    logs.mkdir(parents=True, exist_ok=True)
    tests = [test for test in whole_programs(options.build) if options.only in test[0]]
    fixtures = [test for test in tests if test[3]]
    good = [run(test, logs) for test in fixtures]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        good += pool.map(lambda test: run(test, logs), tests[len(fixtures) :])
    print(f"{sum(good)} of {len(good)} programs are clean; their output is in {logs}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
