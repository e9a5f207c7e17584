// error: neither refresh nor authorize has the signature of AuthenticationDelegate
import Networking

struct WrongRenewal: AuthenticationDelegate {
    func refresh(_ session: Session, over network: any NetworkingComponent) async throws -> Session {
        session
    }
}

func wrong(_ session: Session) {
    _ = TokenStore(session, delegate: WrongRenewal())
}
