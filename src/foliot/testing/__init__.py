"""What users and writers of stores need to test: clocks that are moved by hand, contracts, servers."""
