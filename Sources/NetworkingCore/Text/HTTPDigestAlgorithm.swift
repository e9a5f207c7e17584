/// A hash algorithm of the fields Content-Digest and Repr-Digest (RFC 9530).
///
/// Other algorithms of the registry are insecure, or are checksums against accidents only; they are skipped.
public enum HTTPDigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"
}
