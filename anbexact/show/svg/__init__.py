"""Pictures and fragments of pages without other libraries: escaped markup, graphs and charts as SVG."""
