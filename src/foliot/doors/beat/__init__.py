"""Beat."""
