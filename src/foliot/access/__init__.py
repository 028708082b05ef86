"""Access to the API, and the audit of changes: for the REST API, the dashboard and `foliot token`.

    token.py      make a token, read the text of one, compare its secret     pure
    identity.py   who asks, and what that one may do: `allows(scope, source)`   pure
    authority.py  from a token, a cookie or a login code to an identity       asks the store
    setting.py    the token of the environment, and the token file of a host
    audit.py      an entry for each change: written before it, settled after it
    masking.py    texts and values without secrets                            pure

A request comes with a token or with the cookie of a session. `Authority.identify` and `identify_session`
give an `Identity`, or None. The caller asks the identity whether it allows what is asked for, for the source
of the stored object, and does the change inside `Auditor.change`.

Secrets are stored as SHA-256. They are compared in constant time, and for an unknown token a comparison is
done all the same. What the store says is remembered for five seconds, so a token that is revoked works for
five seconds more at most, on every node.
"""

from foliot.access.audit import Actor, Auditor, Change
from foliot.access.authority import Authority, Login
from foliot.access.identity import Identity
from foliot.access.masking import MASK, mask_text, mask_value
from foliot.access.setting import TokenFile, environment_token, open_token_file, token_in_file
from foliot.access.token import NewToken, make_token

__all__ = [
    "MASK", "Actor", "Auditor", "Authority", "Change", "Identity", "Login", "NewToken", "TokenFile",
    "environment_token", "make_token", "mask_text", "mask_value", "open_token_file", "token_in_file",
]  # fmt: skip
