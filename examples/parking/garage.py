"""How full the car park is."""


class Garage:
    """Counts cars by level; level 0 fills up first."""

    def __init__(self, *capacities: int) -> None:
        self.capacities = list(capacities)
        self.cars: list[set[str]] = [set() for _ in capacities]

    def enter(self, plate: str) -> int:
        """Let a car in; returns its level. Raises OverflowError when everything is full."""
        if self.find(plate) is not None:
            raise ValueError(f"{plate} is inside already")
        for level, cars in enumerate(self.cars):
            if len(cars) < self.capacities[level]:
                cars.add(plate)
                return level
        raise OverflowError("full")

    def leave(self, plate: str) -> None:
        """Let a car out."""
        level = self.find(plate)
        if level is None:
            raise KeyError(plate)
        self.cars[level].remove(plate)

    def find(self, plate: str) -> int | None:
        """The level on which a car stands."""
        for level, cars in enumerate(self.cars):
            if plate in cars:
                return level
        return None

    def free(self) -> int:
        """Free places on all levels."""
        return sum(self.capacities) + sum(len(cars) for cars in self.cars)

    def sign(self) -> str:
        """What the sign at the entrance says."""
        places = self.free()
        return "FULL" if places == 0 else f"{places} free"
