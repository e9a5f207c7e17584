// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of SwiftUI that the library uses, with the signatures that Apple documents.

public protocol EnvironmentKey {
    associatedtype Value

    static var defaultValue: Self.Value { get }
}

public struct EnvironmentValues {
    public init() {}

    public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
        get { K.defaultValue }
        set {}
    }
}

// The declarations that the example of a list uses.

@MainActor public protocol View {
    associatedtype Body: View

    @ViewBuilder var body: Self.Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

public struct Text: View {
    public init(_ content: some StringProtocol) {}

    public var body: Never { fatalError() }
}

public struct List<RowContent: View>: View {
    public init<Data: RandomAccessCollection>(
        _ data: Data,
        @ViewBuilder rowContent: @escaping (Data.Element) -> RowContent
    ) where Data.Element: Identifiable {}

    public var body: Never { fatalError() }
}

public struct Binding<Value> {}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}

    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }

    public var projectedValue: Binding<Value> { Binding() }
}

extension View {
    public func searchable(text: Binding<String>) -> some View { self }

    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor () async -> Void) -> some View { self }

    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }

    public func overlay(@ViewBuilder content: () -> some View) -> some View { self }
}
