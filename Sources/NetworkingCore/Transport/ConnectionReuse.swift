/// Which requests may use a connection that an earlier request has used.
///
/// A faulty server may respond twice to a request, or send a body after a response that has none. Bytes that arrive
/// after the next request was written look like its response. One user can then receive the response of another, unless
/// the two use separate connections. Over HTTP/2, each response names its request, so that this cannot happen.
///
/// ```swift
/// let transport = URLSessionTransport(connectionReuse: .never)   // for a server that is not trusted
/// ```
///
/// `URLSessionTransport` and `AsyncHTTPClientTransport` have it as a parameter.
public enum ConnectionReuse: Sendable, Hashable {
    /// Every request may use every connection.
    ///
    /// For a service that sends the requests of many users to a trusted server.
    case always

    /// A request may use the connections of requests with the same ``ConnectionOwner``: the same user.
    ///
    /// Requests without credentials have separate connections. Credentials are the header fields that
    /// ``RedirectPolicy`` keeps at their origin, and the query items that hold an API key. Credentials of a known
    /// principal, such as those of `authenticated` and `signed`, count as this principal, so that the connections
    /// outlive a token. The cookies of a session's own storage do not count, because one storage belongs to one user.
    ///
    /// The transport closes the connections of the users that have sent no request for the longest time, and keeps
    /// those of as many others as had 64 requests at the same time. A request with other credentials of the app each
    /// time gets a new connection each time.
    case sameCredentials

    /// Every request uses a new connection, which is closed after the response.
    ///
    /// This costs a handshake for each request.
    case never
}
