/// How much `logged` says about a request.
@nonexhaustive
public enum LogDetail: Sendable, Hashable {
    /// Nothing.
    case none
    /// A line when it starts and one when it ends: method, URL, status, time and size.
    case basic
    /// The header fields besides.
    case headers
    /// The bodies besides, up to a number of bytes each.
    case body(limit: Int = 4_096)
}

extension LogDetail {
    var showsHeaders: Bool {
        switch self {
        case .none, .basic: false
        case .headers, .body: true
        }
    }

    var bodyLimit: Int? {
        switch self {
        case .none, .basic, .headers: nil
        case .body(let limit): limit
        }
    }
}
