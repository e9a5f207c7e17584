// error: Name the type of the response. To ignore its body, use perform.
import Networking

func wrong(_ network: some NetworkingComponent) {
    _ = network.pages(.get("users"), next: .link)
}
