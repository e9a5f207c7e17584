/// An event about the credentials that a stack adds to requests.
@nonexhaustive
public enum CredentialsEvent: NetworkEvent {
    /// The request is sent without credentials that a part of the stack would have added.
    case withheld(WithheldCredentials)

    /// The event with the names of the credentials: `credentialsWithheld(withheld Cookie from plain http)`.
    public var description: String {
        switch self {
        case .withheld(let withheld): "credentialsWithheld(\(withheld))"
        }
    }
}
