/// An event of a redirect.
@nonexhaustive
public enum RedirectEvent: NetworkEvent {
    /// The server redirects the request, and the stack follows.
    indirect case redirected(to: HTTPRequestData)
    /// The server redirects the request, and the stack does not follow: the redirect is the response.
    case refused(RedirectRefusal)

    /// The record, without secrets.
    ///
    /// A redirect that is followed has a mark.
    public var record: EventRecord {
        switch self {
        case .redirected(let next):
            EventRecord("redirected", "to: \(next)", mark: .redirect) { "redirected to \($0.line(for: next))" }
        case .refused(let refusal):
            EventRecord(
                "redirectRefused",
                "\(refusal)",
                mark: nil,
                attributes: ["networking.redirect.refusal": .word(refusal.rawValue)]
            ) { _ in "redirect not followed (\(refusal))" }
        }
    }
}

/// The reason why a redirect is not followed.
@nonexhaustive
public enum RedirectRefusal: String, Sendable, Hashable {
    /// The location is not an http URL, contains credentials, or is longer than 64 KiB.
    case unusableLocation
    /// The redirect leads from https to http.
    case downgrade
    /// The body would have to be sent again, but can be sent only once.
    case bodyNotReplayable
    /// Another user has signed in since the request was sent.
    case anotherUser
    /// The request's policy refuses it.
    case policy
}
