"""What docs/python.md shows is what Python prints."""
import doctest
import os
import re
import unittest

import proactivedp

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")


class TestDocs(unittest.TestCase):
    def test_transcripts(self) -> None:
        with open(PAGE, encoding="utf-8") as page:
            blocks = re.findall(r"^```python\n(>>>.*?)^```", page.read(), re.M | re.S)
        self.assertTrue(blocks)
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", PAGE, 0)
        report: "list[str]" = []
        doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=report.append)
        self.assertEqual("".join(report), "")

    def test_the_docstring_of_the_package(self) -> None:
        self.assertEqual(doctest.testmod(proactivedp, verbose=False).failed, 0)
