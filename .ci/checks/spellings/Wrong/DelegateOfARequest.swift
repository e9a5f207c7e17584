// error: neither refresh nor authorize has the signature of AuthenticationDelegate
import Networking

struct WrongSignIn: AuthenticationDelegate {
    func authorize(with network: any NetworkingComponent) async throws -> Session {
        Session(accessToken: "token")
    }
}

func wrong(_ network: some NetworkingComponent) {
    _ = network.authenticated(with: WrongSignIn())
}
