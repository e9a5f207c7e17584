/// An event of a redirect.
@nonexhaustive
public enum RedirectEvent: NetworkEvent {
    /// The server redirects the request, and the stack follows.
    indirect case redirected(to: HTTPRequestData)
    /// The server redirects the request, and the stack does not follow: the redirect is the response.
    case refused(RedirectRefusal)

    /// The mark of a redirect that is followed; `nil` for another one.
    public var mark: EventMark? {
        switch self {
        case .redirected: .redirect
        case .refused: nil
        }
    }

    /// Returns the next request, or the reason why it is not sent.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .redirected(let next): "redirected to \(redaction.line(for: next))"
        case .refused(let reason): "redirect not followed (\(reason))"
        }
    }

    /// The event without secrets: `redirected(to: GET https://api.example.com/users)`.
    public var description: String {
        switch self {
        case .redirected(let next): "redirected(to: \(next))"
        case .refused(let refusal): "redirectRefused(\(refusal))"
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
