"""Values that fields of answers have, as clients get to know them: times, and words of a fixed set."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

Time = Annotated[datetime, Meta(tz=True)]  # so the document says `format: date-time`
Status = Literal["pending", "running", "success", "failed", "cancelled"]
Repeated = Literal["fold_first", "fold_second"]
Bucket = Literal["hour", "minute"]
