import hashlib, hmac, re, time

def is_genuine(secrets, timestamp, signature, body, now=None, tolerance=300):
    """secrets: a list of text; timestamp, signature: the headers as text; body: the bytes as they arrived."""
    if not re.fullmatch("[1-9][0-9]{9}", timestamp, re.ASCII):
        return False
    if not re.fullmatch("[0-9a-f]{64}(,[0-9a-f]{64}){0,2}", signature):
        return False
    if not all(secrets):
        return False
    signed = timestamp.encode() + b"." + body
    digests = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    matches = [hmac.compare_digest(digest, given) for digest in digests for given in signature.split(",")]
    age = (int(time.time()) if now is None else now) - int(timestamp)
    return any(matches) and abs(age) <= tolerance
