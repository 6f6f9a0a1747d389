"""Pages and fragments of pages, taken apart for tests."""

from html.parser import HTMLParser

from anbexact.show.svg.markup import VOID


class Page(HTMLParser):
    """The elements and the text of a page; refuses an end that does not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
