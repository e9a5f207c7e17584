/// What a part of a stack says about itself: a modifier, a transport, an interceptor or a signer.
///
/// Each fact has a default. A part declares those that it has:
///
/// ```swift
/// struct Budgeted: NetworkingModifier {
///     let limit: Duration
///
///     var stackPart: StackPart {
///         StackPart(
///             roles: [.deadline],
///             options: [.deadline],
///             deadline: limit,
///             rules: [.notInside(.retry, "is inside retry, so it covers one attempt. Put it outside.")]
///         )
///     }
/// }
/// ```
public protocol StackDescribing {
    /// The facts that the outline, the diagnostics and the rules of other parts use.
    ///
    /// A part with a second stack names it among the ``StackPart/branches``.
    var stackPart: StackPart { get }
}

extension StackDescribing {
    /// No facts.
    public var stackPart: StackPart {
        StackPart()
    }
}

/// The facts about a part of a stack.
public struct StackPart: Sendable {
    /// The purposes of the part, by which the rules of other parts refer to it.
    public let roles: Set<StackRole>
    /// The request options that the part reads.
    ///
    /// ``NetworkingComponent/diagnostics(for:)`` reports the options of a request that no part reads.
    public let options: Set<RequestOptionKey>
    /// The maximum duration of a call, for a modifier in the role ``StackRole/deadline``.
    ///
    /// A request with its own ``HTTPRequestData/deadline`` may take longer.
    public let deadline: Duration?
    /// The authority of the server that the part names, to which the credentials next to it belong.
    public let server: String?
    /// The number of modifiers further in that the part stands for, such as those of a preset.
    public let groupedModifiers: Int
    /// The other stacks that the part may send a request through, such as the one that a fallback uses.
    ///
    /// The options that their parts read count as read.
    public let branches: [any NetworkingComponent]
    /// The rules about the part's place and configuration, evaluated by ``NetworkingComponent/diagnostics``.
    public var rules: [StackRule] {
        makeRules()
    }

    /// The part's line in the outline, in place of its description.
    let name: String?
    let shortage: (@Sendable (HTTPRequestData) -> String?)?
    /// The default environment with the values that the part sets for everything upstream.
    var environment: NetworkEnvironment?
    /// The modifiers that the part consists of, outermost first, without absent ones; `nil` for a part that is not made
    /// of others.
    var modifiers: [any NetworkingModifier]?
    // Lazy, because a call may need the environment of its stack, and no call needs rules.
    private let makeRules: @Sendable () -> [StackRule]

    /// Creates the facts of a part.
    ///
    /// - Parameters:
    ///   - name: The part's line in the outline; by default its description, or else its type.
    ///   - roles: The purposes of the part.
    ///   - options: The request options that the part reads.
    ///   - deadline: The maximum duration of a call.
    ///   - server: The authority of the server that the part names.
    ///   - connectionShortage: A closure of a transport with a limited number of connections. It returns the reason why
    ///     a request, which has exceeded a time limit, may have waited for one, and a way to solve it; `nil` if it is
    ///     not known. The error of a `timeout` contains the reason. Such a transport also reports the wait, with
    ///     `request.waiting(.connection) { … }`.
    ///   - groupedModifiers: The number of modifiers further in that the part stands for. The outline shows them as
    ///     its children.
    ///   - branches: The other stacks that the part may send a request through, which the outline shows too.
    ///   - rules: The rules about the part's place and configuration, evaluated only for diagnostics.
    public init(
        name: String? = nil,
        roles: Set<StackRole> = [],
        options: Set<RequestOptionKey> = [],
        deadline: Duration? = nil,
        server: String? = nil,
        connectionShortage: (@Sendable (HTTPRequestData) -> String?)? = nil,
        groupedModifiers: Int = 0,
        branches: [any NetworkingComponent] = [],
        rules: @autoclosure @escaping @Sendable () -> [StackRule] = []
    ) {
        self.name = name
        self.roles = roles
        self.options = options
        self.deadline = deadline
        self.server = server
        shortage = connectionShortage
        self.groupedModifiers = groupedModifiers
        self.branches = branches
        makeRules = rules
    }

    /// Creates the facts of a part that consists of modifiers, or of a modifier in an optional.
    init(modifiers: [any NetworkingModifier]) {
        self.init()
        self.modifiers = modifiers
    }
}
