// error: main actor-isolated
import Dispatch
import Networking

@MainActor
final class Label {
    var text = ""
}

func wrong(_ network: some NetworkingComponent, label: Label) {
    network.data(.get("users"), queue: .main) { _ in label.text = "loaded" }
}
