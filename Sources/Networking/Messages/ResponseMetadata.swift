/// A value that a component leaves on a response for whoever reads it, declared by the component.
///
/// ```swift
/// enum IsFromFixture: ResponseMetadata {
///     static let defaultValue = false
/// }
///
/// extension HTTPResponseData {
///     var isFromFixture: Bool {
///         get { self[metadata: IsFromFixture.self] }
///         set { self[metadata: IsFromFixture.self] = newValue }
///     }
/// }
/// ```
///
/// Metadata is no part of a response's equality.
public protocol ResponseMetadata {
    /// The type of the value.
    associatedtype Value: Sendable

    /// What a response says that nobody told.
    static var defaultValue: Value { get }
}
