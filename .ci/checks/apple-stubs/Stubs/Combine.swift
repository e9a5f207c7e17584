// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of Combine that the library uses, with the signatures that Apple documents.

public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error

    func receive<S: Subscriber>(subscriber: S) where Self.Failure == S.Failure, Self.Output == S.Input
}

extension Publisher {
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> {
        AnyPublisher()
    }
}

public struct AnyPublisher<Output, Failure: Error>: Publisher {
    public func receive<S: Subscriber>(subscriber: S) where Output == S.Input, Failure == S.Failure {}
}

public protocol Cancellable {
    func cancel()
}

public protocol CustomCombineIdentifierConvertible {
    var combineIdentifier: CombineIdentifier { get }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
    public var combineIdentifier: CombineIdentifier { CombineIdentifier() }
}

public struct CombineIdentifier: Hashable, Sendable {}

public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    func request(_ demand: Subscribers.Demand)
}

public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
    associatedtype Input
    associatedtype Failure: Error

    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
}

public enum Subscribers {
    public enum Completion<Failure: Error> {
        case finished
        case failure(Failure)
    }

    public struct Demand: Equatable, Comparable, Hashable, Sendable {
        public static let none = Demand()

        public static let unlimited = Demand()

        public var max: Int? { nil }

        public static func max(_ value: Int) -> Demand {
            none
        }

        public static func < (lhs: Demand, rhs: Demand) -> Bool {
            false
        }
    }
}

public struct AnySubscriber<Input, Failure: Error>: Subscriber {
    public let combineIdentifier = CombineIdentifier()

    public init<S: Subscriber>(_ subscriber: S) where Input == S.Input, Failure == S.Failure {}

    public func receive(subscription: any Subscription) {}

    public func receive(_ value: Input) -> Subscribers.Demand {
        .none
    }

    public func receive(completion: Subscribers.Completion<Failure>) {}
}
