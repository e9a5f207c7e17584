public import HTTPTypes

extension NetworkingError {
    /// The status of the response, including a 401; `nil` if there is no response.
    ///
    /// ```swift
    /// switch error.status?.code {
    /// case 401: showSignIn()
    /// case 404: showEmptyPage()
    /// default: show(error)
    /// }
    /// ```
    ///
    /// A response that the request does not accept is an error of kind ``Kind/unauthorized`` if its status is 401, and
    /// of kind ``Kind/status`` otherwise. Errors of other kinds may have a response too: for example, an error of
    /// kind ``Kind/decoding`` has the response with the invalid body.
    public var status: HTTPResponse.Status? {
        response?.status
    }

    /// Whether the same request may succeed if it is sent again later.
    ///
    /// `true` for these errors, and `false` for all others:
    /// - the kinds ``Kind/offline``, ``Kind/nameResolution``, ``Kind/connection``, ``Kind/connectionLost``,
    ///   ``Kind/timeout`` and ``Kind/truncated``;
    /// - the kind ``Kind/status`` with a status of 408, 425, 429, 500, 502, 503 or 504.
    ///
    /// It does not say whether the server has processed the request. Before you send a request again that is not
    /// idempotent, make sure that the server can detect the repetition.
    public var isTransient: Bool {
        switch kind.meaning {
        case .unreachable, .interrupted: true
        case .answered: [408, 425, 429, 500, 502, 503, 504].contains(status?.code ?? 0)
        default: false
        }
    }

    /// Whether the device has no network.
    ///
    /// `false` if the server is down.
    public var isOffline: Bool {
        kind == .offline
    }

    /// Whether a time limit was exceeded: that of an attempt, of the call, or of the server (408).
    public var isTimeout: Bool {
        kind == .timeout || kind == .deadline || status?.code == 408
    }

    /// Whether the device could not connect to the server, or lost the connection.
    ///
    /// `true` for the kinds ``Kind/offline``, ``Kind/nameResolution``, ``Kind/connection``, ``Kind/tls`` and
    /// ``Kind/connectionLost``.
    public var isConnectionFailure: Bool {
        switch kind.meaning {
        case .unreachable, .untrusted: true
        default: kind == .connectionLost
        }
    }

    /// Whether credentials are missing, or the server did not accept them (401).
    ///
    /// `true` for the kind ``Kind/unauthorized`` and for any response with a status of 401. An error of this kind has
    /// no ``status`` if the request was not sent because no user is signed in.
    public var isUnauthorized: Bool {
        kind == .unauthorized || status?.code == 401
    }

    /// Whether the server forbids the request (403).
    public var isForbidden: Bool {
        status?.code == 403
    }

    /// Whether the server did not find the resource (404).
    public var isNotFound: Bool {
        status?.code == 404
    }

    /// Whether the server limits the rate of requests (429).
    ///
    /// The field `Retry-After` of the response may say when to try again. If a limit of the stack itself is
    /// exceeded, the error has the kind ``Kind/rejected``, and ``retryAfter`` may have the time to wait.
    public var isRateLimited: Bool {
        status?.code == 429
    }

    /// Whether the status is one of a client error: 400 to 499.
    public var isClientError: Bool {
        400...499 ~= status?.code ?? 0
    }

    /// Whether the status is one of a server error: 500 to 599.
    public var isServerError: Bool {
        500...599 ~= status?.code ?? 0
    }

    /// Whether the body of the response could not be decoded.
    public var isDecodingFailure: Bool {
        kind == .decoding
    }
}
