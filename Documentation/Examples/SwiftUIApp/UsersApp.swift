// An app in SwiftUI: sign-in, a list with search, a page for each user, an upload with progress, and stored responses
// while there is no network. Documentation/Apps.md explains it, and Documentation/Platforms.md has its status.
import Foundation
import Networking
import SwiftUI

@main
struct UsersApp: App {
    // One value for the app, because limits, stored responses and the session belong to it.
    private let api = UserAPI(tokens: .stored)

    var body: some Scene {
        WindowGroup { RootView(api: api) }
    }
}

struct RootView: View {
    let api: UserAPI

    @State private var isSignedIn: Bool

    init(api: UserAPI) {
        self.api = api
        _isSignedIn = State(initialValue: api.tokens.credentials != nil)
    }

    var body: some View {
        Group {
            if isSignedIn {
                UsersView(api: api)
            } else {
                SignInView(api: api)
            }
        }
        // A session that cannot be renewed also leads here.
        .task {
            for await _ in api.tokens.changes { isSignedIn = api.tokens.credentials != nil }
        }
    }
}

struct SignInView: View {
    let api: UserAPI

    @State private var name = ""
    @State private var password = ""
    @State private var message: String?

    var body: some View {
        Form {
            TextField("Name", text: $name)
            SecureField("Password", text: $password)
            Button("Sign in") { Task { await signIn() } }
            Text(message ?? "")
        }
    }

    private func signIn() async {
        do {
            try await api.signIn(name: name, password: password)
        } catch {
            message = error.localizedDescription
        }
    }
}

struct UsersView: View {
    let api: UserAPI

    @State private var users: [User] = []
    @State private var text = ""
    @State private var message: String?
    @State private var isOnline = true

    var body: some View {
        NavigationStack {
            List(users) { user in
                NavigationLink(user.name, value: user)
            }
            .navigationDestination(for: User.self) { UserView(api: api, user: $0) }
            .navigationTitle(isOnline ? "Users" : "Users (offline)")
            .searchable(text: $text)
            // SwiftUI cancels the task when the text changes or the view disappears, and the call with it.
            .task(id: text) { await load() }
            .refreshable { await load() }
            .overlay { Text(message ?? "") }
            .task {
                for await status in SystemConnectivity().changes { isOnline = status.isSatisfied }
            }
        }
    }

    private func load() async {
        do {
            (users, message) = (try await api.users(matching: text), nil)
        } catch {
            if !error.isCancelled { message = error.localizedDescription }
        }
    }
}

struct UserView: View {
    let api: UserAPI
    let user: User

    @State private var photo: Data?
    @State private var fraction: Double?
    @State private var message: String?

    var body: some View {
        Form {
            Text(user.name)
            if let fraction {
                ProgressView(value: fraction)
            }
            Text(message ?? "")
        }
        .navigationTitle(user.name)
        .dropDestination(for: Data.self) { items, _ in
            photo = items.first
            return photo != nil
        }
        .task(id: photo) { await upload() }
    }

    private func upload() async {
        guard let photo else { return }
        let (fractions, continuation) = AsyncStream.makeStream(of: Double.self, bufferingPolicy: .bufferingNewest(1))
        async let upload: Void = {
            defer { continuation.finish() }
            try await api.upload(photo: photo, of: user) { continuation.yield($0.fraction) }
        }()
        for await newest in fractions { fraction = newest }
        do {
            try await upload
            message = "The photo was uploaded."
        } catch {
            if !error.isCancelled { message = error.localizedDescription }
        }
        fraction = nil
    }
}
