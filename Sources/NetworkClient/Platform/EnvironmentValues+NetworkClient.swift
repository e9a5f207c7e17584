#if canImport(SwiftUI)
public import SwiftUI

extension EnvironmentValues {
    /// The app's client, for views that create their API clients themselves.
    ///
    /// <!-- snippet: fragment SwiftUI -->
    /// ```swift
    /// WindowGroup { ContentView() }
    ///     .environment(\.networkClient, .live)
    ///
    /// struct ContentView: View {
    ///     @Environment(\.networkClient) private var client
    /// }
    /// ```
    ///
    /// The default is ``NetworkClient/unimplemented``, in previews too.
    public var networkClient: NetworkClient {
        get { self[NetworkClientKey.self] }
        set { self[NetworkClientKey.self] = newValue }
    }
}

private struct NetworkClientKey: EnvironmentKey {
    static let defaultValue = NetworkClient.unimplemented
}
#endif
