#if Crypto
public import FoundationForNetworking
public import NetworkingCore

/// The access key of an AWS account, a user or a role, for ``AWSSigner``.
///
/// ```swift
/// let credentials = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret)
/// ```
///
/// Descriptions, dumps and mirrors are redacted.
public struct AWSCredentials: Sendable, Hashable {
    /// The ID of the key; it is sent with each request.
    public let accessKeyID: String
    /// The secret, which is never sent.
    public let secretAccessKey: String
    /// The token of temporary credentials; `nil` for a user's permanent credentials.
    public let sessionToken: String?
    /// The expiration date; `nil` if they do not expire, or if it is unknown.
    public let expirationDate: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The ID of the key.
    ///   - secretAccessKey: The secret.
    ///   - sessionToken: The token of temporary credentials.
    ///   - expirationDate: The expiration date.
    public init(
        accessKeyID: String,
        secretAccessKey: String,
        sessionToken: String? = nil,
        expirationDate: Date? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expirationDate = expirationDate
    }
}

extension AWSCredentials: RedactedDescription {}
#endif
