"""Back ends that keep the store contract of `foliot.protocols`."""
