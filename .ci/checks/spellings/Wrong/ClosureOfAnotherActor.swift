// error: actor-isolated to 'MainActor'
import Networking

@globalActor
actor Storage {
    static let shared = Storage()
}

func wrong(_ network: some NetworkingComponent) {
    let save: @Storage @Sendable (Result<HTTPResponseData, any Error>) -> Void = { _ in }
    network.data(.get("users"), on: .main, completion: save)
}
