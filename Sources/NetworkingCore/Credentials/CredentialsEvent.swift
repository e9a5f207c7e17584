/// An event about the credentials that a stack adds to requests.
@nonexhaustive
public enum CredentialsEvent: NetworkEvent {
    /// The request is sent without credentials that a part of the stack would have added.
    case withheld(WithheldCredentials)

    /// No mark, because metrics count no credentials.
    public var mark: EventMark? {
        nil
    }

    /// Returns the names of the credentials and the reason: `withheld Cookie from plain http`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .withheld(let withheld): "\(withheld)"
        }
    }

    /// The event with the names of the credentials: `credentialsWithheld(withheld Cookie from plain http)`.
    public var description: String {
        switch self {
        case .withheld(let withheld): "credentialsWithheld(\(withheld))"
        }
    }
}
