// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of SwiftUI that the library uses, with the signatures that Apple documents.

public import Foundation

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

// The declarations that the example of an app uses.

@MainActor public protocol View {
    associatedtype Body: View

    @ViewBuilder var body: Self.Body { get }
}

@MainActor public protocol Scene {
    associatedtype Body: Scene

    @SceneBuilder var body: Self.Body { get }
}

@MainActor public protocol App {
    associatedtype Body: Scene

    init()

    @SceneBuilder var body: Self.Body { get }
}

extension App {
    public static func main() {}
}

extension Never: View, Scene {
    // With a return, no builder applies.
    // swift-format-ignore
    public var body: Never { return fatalError() }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> {
        TupleView()
    }

    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }

    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }

    public static func buildEither<First: View, Second: View>(first: First) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }

    public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }
}

public struct TupleView<Content>: View {
    public var body: Never { fatalError() }
}

public struct ConditionalContent<First: View, Second: View>: View {
    public var body: Never { fatalError() }
}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}

    public var body: Never { fatalError() }
}

public struct Group<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}

    public var body: Never { fatalError() }
}

public struct Form<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}

    public var body: Never { fatalError() }
}

public struct NavigationStack<Root: View>: View {
    public init(@ViewBuilder root: () -> Root) {}

    public var body: Never { fatalError() }
}

public struct NavigationLink: View {
    public init(_ title: some StringProtocol, value: (some Hashable)?) {}

    public var body: Never { fatalError() }
}

public struct Text: View {
    public init(_ content: some StringProtocol) {}

    public var body: Never { fatalError() }
}

public struct TextField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}

    public var body: Never { fatalError() }
}

public struct SecureField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}

    public var body: Never { fatalError() }
}

public struct Button: View {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}

    public var body: Never { fatalError() }
}

public struct ProgressView: View {
    public init(value: (some BinaryFloatingPoint)?) {}

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

    public init(initialValue: Value) {}

    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }

    public var projectedValue: Binding<Value> { Binding() }
}

extension View {
    public func searchable(text: Binding<String>) -> some View { self }

    public func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }

    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor () async -> Void) -> some View { self }

    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }

    public func overlay(@ViewBuilder content: () -> some View) -> some View { self }

    public func navigationTitle(_ title: some StringProtocol) -> some View { self }

    public func navigationDestination<Data: Hashable>(
        for data: Data.Type,
        @ViewBuilder destination: @escaping (Data) -> some View
    ) -> some View { self }

    public func dropDestination<Item: Transferable>(
        for payloadType: Item.Type,
        action: @escaping ([Item], CGPoint) -> Bool
    ) -> some View { self }
}

public protocol Transferable: Sendable {}

extension Data: Transferable {}
