"""vISA text: `read_text` and `parse_text` read it, `show_module` and `show_unit` write it."""

from visim.text.parser import parse_text, read_text
from visim.text.printer import show_module, show_unit

__all__ = ["parse_text", "read_text", "show_module", "show_unit"]
