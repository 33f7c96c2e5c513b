"""Certificates for the tests of TLS: a certificate authority, and what it signs."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Writes PEM files to `directory`: NAME.crt and NAME.key, signed by its own CA in `ca`."""

    def __init__(self, directory, name="ca"):
        self.directory = directory
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"raydbg test {name}")])
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.ca = directory / f"{name}.crt"
        certificate = self._sign(self.name, self.key.public_key(), [], (-1, 2), ca=True)
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name, hosts=("127.0.0.1", "localhost"), days=(-1, 2)):
        """The paths of a certificate for these hosts, valid between `days` from now, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._sign(subject, key.public_key(), hosts, days)
        paths = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                               serialization.NoEncryption()))
        paths[1].chmod(0o600)
        return paths

    def _sign(self, subject, public_key, hosts, days, ca=False):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public_key)
                   .serial_number(x509.random_serial_number())
                   .not_valid_before(now + datetime.timedelta(days=days[0]))
                   .not_valid_after(now + datetime.timedelta(days=days[1]))
                   .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True))
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([general_name(h) for h in hosts]), critical=False)
        return builder.sign(self.key, hashes.SHA256())


def general_name(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def fingerprint(path):
    """The SHA256 fingerprint of a certificate, upper case with colons."""
    digest = x509.load_pem_x509_certificate(path.read_bytes()).fingerprint(hashes.SHA256())
    return ":".join(f"{byte:02X}" for byte in digest)
