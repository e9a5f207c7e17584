// A list in SwiftUI: it loads, refreshes, searches as the user types, and shows errors. Documentation/Platforms.md has
// its status.
import Foundation
import Networking
import SwiftUI

// A new Xcode app isolates its types to the main actor, but bodies are decoded off it.
nonisolated struct User: Codable, Identifiable, Sendable {
    let id: Int
    let name: String
}

extension Request where Response == [User] {
    static func users(matching text: String) -> Self {
        .get("users", query: ["q": text.isEmpty ? nil : text])
    }
}

struct UsersView: View {
    let network: any NetworkingComponent

    @State private var users: [User] = []
    @State private var text = ""
    @State private var message: String?

    var body: some View {
        List(users) { user in
            Text(user.name)
        }
        .searchable(text: $text)
        // SwiftUI cancels the task when the text changes or the view disappears, and the call with it.
        .task(id: text) { await load() }
        .refreshable { await load() }
        .overlay {
            Text(message ?? "")
        }
    }

    private func load() async {
        switch await network.result(of: .users(matching: text)) {
        case .success(let found):
            (users, message) = (found, nil)
        case .failure(let failure) where failure.isCancelled:
            break
        case .failure(let failure):
            message = failure.localizedDescription
        }
    }
}
