"""Rule-driven masking of XML microdata that keeps every edit."""
