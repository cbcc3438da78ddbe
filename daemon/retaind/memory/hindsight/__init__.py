"""The remote memory: a Hindsight server, asked over HTTP. Nothing here imports httpx before it is asked."""

from retaind.memory.hindsight.client import Client, Operation
from retaind.memory.hindsight.documents import Held, Payload, body, operation_id
from retaind.memory.hindsight.faults import (
    BankMissing,
    Busy,
    Denied,
    Misconfigured,
    OperationTaken,
    Refused,
    TooLarge,
)
from retaind.memory.hindsight.token import Token

NAME = "hindsight"

__all__ = [
    "NAME",
    "BankMissing",
    "Busy",
    "Client",
    "Denied",
    "Held",
    "Misconfigured",
    "Operation",
    "OperationTaken",
    "Payload",
    "Refused",
    "Token",
    "TooLarge",
    "body",
    "operation_id",
]
