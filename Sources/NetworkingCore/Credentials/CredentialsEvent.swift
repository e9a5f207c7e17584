/// An event about the credentials that a stack adds to requests.
@nonexhaustive
public enum CredentialsEvent: NetworkEvent {
    /// The request is sent without credentials that a part of the stack would have added.
    case withheld(WithheldCredentials)

    /// The record with the names of the credentials.
    ///
    /// It has no mark, because metrics count no credentials.
    public var record: EventRecord {
        switch self {
        case .withheld(let withheld):
            EventRecord("credentialsWithheld", "\(withheld)", mark: nil, attributes: [:]) { _ in "\(withheld)" }
        }
    }
}
