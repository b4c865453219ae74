"use client";
import * as React from "react";
import { useState, type ReactNode } from "react";

interface Props<T> extends React.HTMLAttributes<HTMLDivElement> {
  items: readonly T[];
  render?(item: T, index: number): ReactNode;
  onSelect: (item: T) => void;
}

type State = { open: boolean; selected: number | null };

export const PanelContext = React.createContext<State | undefined>(undefined);

/** A list of users. */
export function UserPanel<T extends { id: string }>({ items, onSelect, ...rest }: Props<T>): JSX.Element {
  const [open, setOpen] = useState(false);
  const handleClick = (item: T) => () => {
    onSelect(item);
  };
  function renderItem(item: T) {
    return <li key={item.id} onClick={handleClick(item)}>{`function fake() {}`}</li>;
  }
  return (
    <PanelContext.Provider value={{ open, selected: null }}>
      <ul {...rest}>{items.map((item) => renderItem(item))}</ul>
      {open ? <Footer text="class Fake {}" /> : null}
    </PanelContext.Provider>
  );
}

const Footer: React.FC<{ text: string }> = ({ text }) => <footer title={'}'}>{text}</footer>;

export const Row = React.memo(function Row({ id }: { id: string }) {
  return <tr id={id} />;
});

export const useToggle = (initial = false): readonly [boolean, () => void] => {
  const [on, setOn] = useState(initial);
  return [on, () => setOn(!on)] as const;
};

const identity = <T,>(value: T): T => value;

export class Boundary extends React.Component<{ children: ReactNode }, { error: Error | null }> {
  static displayName = "Boundary";
  state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  private readonly reset = () => {
    this.setState({ error: null });
  };

  override render(): ReactNode {
    return this.state.error ? <button onClick={this.reset}>Don&apos;t panic {"{"}</button> : this.props.children;
  }
}

export default function App(): JSX.Element {
  return <UserPanel items={[]} onSelect={() => undefined} />;
}
