// error: main actor-isolated
import Dispatch
import Networking

@MainActor
final class Label {
    var text = ""
}

func wrong(_ network: some NetworkingComponent, label: Label) {
    network.callback(queue: .main) {
        try await $0.data(.get("users"))
    } completion: { _ in
        label.text = "loaded"
    }
}
