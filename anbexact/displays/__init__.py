"""What fitted objects show in a notebook: fragments of HTML, in the colours of the page around them."""
