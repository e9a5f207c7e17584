package import Networking

extension HTTPRequestData {
    /// A request that changes something, for an outbox.
    package static var order: HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "http",
            authority: "localhost",
            path: "/orders",
            body: .json(["id": 7])
        )
    }
}
