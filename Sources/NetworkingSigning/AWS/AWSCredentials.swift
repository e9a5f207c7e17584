#if Crypto
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The access key of an AWS account, a user or a role, for ``AWSSigner``.
///
/// ```swift
/// let credentials = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret)
/// ```
///
/// Nothing of them shows in a description, a dump or a mirror.
public struct AWSCredentials: Sendable, Hashable {
    /// Names the key; it is sent with each request.
    public let accessKeyID: String
    /// The secret, which is never sent.
    public let secretAccessKey: String
    /// The token of temporary credentials; nil for those of a user.
    public let sessionToken: String?
    /// When they run out; nil when they do not, or when it is not known.
    public let expirationDate: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: Names the key.
    ///   - secretAccessKey: The secret.
    ///   - sessionToken: The token of temporary credentials.
    ///   - expirationDate: When they run out.
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

extension AWSCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type, and nothing of what is in it.
    public var description: String {
        "AWSCredentials(<redacted>)"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
#endif
