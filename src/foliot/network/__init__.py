"""Requests that Foliot sends to servers that a job or a channel names.

    fetch ──▶ Guard.addresses(host, port)   resolve once, judge every address
          ──▶ connect to one of them        that address itself: no second look-up
          ──▶ http.client, in a thread      one deadline for all, TLS verified, no redirects

The person who writes a job need not be the person who runs the node. So a URL of a job may name public
addresses only: otherwise it could reach the node's own services, its network, and the metadata server
that hands out the credentials of a cloud host. The operator opens exceptions, by name or by range.

Read `address.py` (which addresses are public), `guard.py` (who may be reached), `http.py` (the request).
"""
