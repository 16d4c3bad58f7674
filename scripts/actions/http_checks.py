"""Checks of HTTP actions: certificates, tokens and signatures, as the called side meets them."""

import base64
import json
import os

import targets
from counterparts import retries, within
from expect import equal, holds
from scheduler import PATIENCE
from verify import is_genuine

SIGNING = ["whsec_" + base64.b64encode(os.urandom(size)).decode() for size in (24, 64)]


def check_tokens(scheduler, target, authority):
    """Tokens: many occurrences of one instant are one question, and a refusal is told without the secret."""
    names = [f"tokens-{number}" for number in range(100)]
    action = targets.http(target.url("/token"), targets.oauth())
    before = authority.questions()[0]
    scheduler.spread(names, action, rate=10_000)
    entries = scheduler.settled(names)
    equal("tokens: states in the ledger", {entry["state"] for entry in entries}, {"ran"})
    # A token may end amid them; then it is one more.
    asked = authority.questions()[0] - before
    holds(f"tokens: {asked} questions for 100 occurrences", 1 <= asked <= 3)
    message = scheduler.history(names[0])[0]["message"]
    holds(f"tokens: {message}", message.endswith("Body: Bearer (hidden)"))

    wrong = targets.http(target.url("/token"), targets.oauth("wr0ng&secret"))
    scheduler.run("tokens-refused", wrong, fate="faulted")
    message = scheduler.history("tokens-refused")[0]["message"]
    says = "no token from the authority 'localhost': 'Unauthorized' invalid_client AADSTS7000215"
    holds(f"tokens: {message}", says in message and "wr0ng" not in message)


def check_signatures(scheduler, target, clients):
    """Signed calls, verified by the library of Standard Webhooks and by what the documentation shows."""
    authentication = {"type": "Hmac", "secrets": SIGNING}
    scheduler.run("signed", targets.http(target.url("/signed"), authentication))
    (headers, body), = [(headers, body) for path, headers, body, _ in target.calls if path == "/signed"]
    equal("signed: webhook-id", headers["webhook-id"], headers["x-ms-execution-tag"])
    others = "whsec_" + base64.b64encode(os.urandom(24)).decode()
    own = json.dumps({name: value for name, value in headers.items() if name.startswith("webhook-")})
    for secret, text, good in [(SIGNING[0], body, True), (SIGNING[1], body, True), (others, body, False),
                               (SIGNING[0], body + b" ", False)]:
        equal("signed: the library says", clients.new("webhook_client.py", secret, own, text.decode()), good)
        equal("signed: the documentation says", is_genuine(secret, headers, text), good)


def check_authority_killed(scheduler, target, authority, count):
    """The authority of tokens is killed amid many occurrences: none is lost, none is called twice."""
    names = [f"killed-authority-{number}" for number in range(count)]
    action = {**targets.http(target.url("/token"), targets.oauth()), "retryPolicy": retries(20)}
    before, earlier = authority.questions()[0], len(target.tags("/token"))
    scheduler.spread(names, action)
    third = count // 3
    holds("authority: a third never ran", within(PATIENCE, lambda: scheduler.has_begun(names[third])))
    authority.kill()
    failed = lambda: any(scheduler.failures(names[third::10]))
    holds("authority: nothing failed without it", within(PATIENCE, failed))
    authority.start()
    entries = scheduler.settled(names)
    equal("authority: states in the ledger", {entry["state"] for entry in entries} - {"ran", "ranLate"}, set())
    tags = sorted(entry["executionTag"] for entry in entries)
    # Only who has a token calls, so here nothing is called twice.
    equal("authority: calls that were accepted", sorted(target.tags("/token")[earlier:]), tags)
    failures = scheduler.failures(names)
    holds("authority: more attempts than the policy allows", max(failures) <= 20)
    asked = authority.questions()[0] - before
    holds(f"authority: {asked} questions for {count} occurrences", asked <= count // 5)
    return f"{count} occurrences, {sum(1 for failed in failures if failed)} retried, {asked} tokens"
