import hashlib, hmac, re, time

def is_genuine(secrets, headers, body, now=None, tolerance=300):
    """secrets: a list of text; headers: a dict, or all lines as (name, value), request.headers.items(); body: the received bytes."""
    # A list, because items() of some frameworks, such as Flask, can be read only once.
    lines = list(headers.items() if hasattr(headers, "items") else headers)
    timestamps = [value for name, value in lines if name.lower() == "checkout-timestamp"]
    signatures = [value for name, value in lines if name.lower() == "checkout-signature"]
    if len(timestamps) != 1 or not re.fullmatch("[1-9][0-9]{9}", timestamps[0], re.ASCII):
        return False
    if len(signatures) != 1 or not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signatures[0]):
        return False
    if not all(re.fullmatch("[!-~]+", secret) for secret in secrets):
        return False
    signed = timestamps[0].encode() + b"." + body
    digests = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    matches = [hmac.compare_digest(digest, given) for digest in digests for given in signatures[0].split(",")]
    age = (int(time.time()) if now is None else now) - int(timestamps[0])
    return any(matches) and abs(age) <= tolerance
