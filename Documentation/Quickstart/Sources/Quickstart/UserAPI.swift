import Networking

/// A user, as the server returns it.
struct User: Codable, Sendable {
    let id: Int
    let name: String
}

struct Credentials: Codable, Sendable {
    let user: String
    let password: String
}

struct Session: Codable, Sendable {
    let token: String
}

// Each endpoint is a factory of a request with the type of its response.
extension Request where Response == Session {
    static func logIn(_ credentials: Credentials) -> Self {
        Request(HTTPRequestData(method: .post, path: "login", body: .json(credentials)))
    }
}

extension Request where Response == User {
    static var me: Self {
        Request(HTTPRequestData(path: "me"))
    }

    static func user(id: Int) -> Self {
        Request(HTTPRequestData(path: "users/\(id)"))
    }
}
