"""Network files: BIF, XMLBIF and XDSL, with names that they can hold."""
