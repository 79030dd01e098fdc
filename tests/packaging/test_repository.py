#!/usr/bin/env python3
"""What names the project's version beside CMakeLists.txt names the same.

    run_tests.py test_repository.py
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(normlens VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


class Repository(unittest.TestCase):
    def test_changes_are_listed_by_version_and_date_newest_first(self):
        headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
        versions = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
        self.assertNotIn(None, versions, headings)
        self.assertEqual(versions[0][1], VERSION)
        dates = [version[2] for version in versions]
        self.assertEqual(dates, sorted(dates, reverse=True))

    def test_citation_and_metadata_are_of_this_version_and_date(self):
        citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
        date = re.search(r"^## \S+ \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
        self.assertIn(f"\nversion: {VERSION}\ndate-released: {date}\n", citation)
        metadata = (ROOT / "packaging/linux/org.normlens.normlens.metainfo.xml").read_text(encoding="utf-8")
        self.assertIn(f'<release version="{VERSION}" date="{date}"/>', metadata)
        self.assertEqual(citation.count("type: article"), 4)

    def test_the_papers_are_cited_with_the_authors_that_they_name(self):
        articles = (ROOT / "CITATION.cff").read_text(encoding="utf-8").split("  - type: article\n")[1:]
        named = {re.search(r"[Cc]alled (\d+)", article)[1]: re.findall(r"family-names: (\w+)", article) for article in articles}
        self.assertEqual(named, {"000": [], "001": [], "002": [], "003": ["Jiang", "Gu", "Zhu", "Pan"]})
